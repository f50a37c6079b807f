// Suites over both kinds of server mark the native rows as not run where there is no redis-server or valkey-server.

import { hasNative } from './leg.ts';

export { hasNative };

export const cannotRun = (kind: 'native' | 'wasm') => kind === 'native' && !hasNative;
