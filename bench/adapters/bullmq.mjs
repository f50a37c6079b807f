import * as bullmq from 'bullmq';
import { bullmqApi } from './bullmq-api.mjs';

export default bullmqApi(bullmq);
