// The name that applications and frameworks import; flows are refused until this version can make them.

import { yokeError } from '../model/errors.ts';

export class FlowProducer {
  constructor(_opts?: object) {
    throw yokeError('NOT_SUPPORTED_YET', { feature: 'FlowProducer' });
  }
}
