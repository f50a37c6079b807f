// What this machine has. Suites that need redis-server or valkey-server are not run where there is none; CI installs
// one and sets YOKE_TEST_REQUIRE_NATIVE, which turns its absence into a failure of every such suite.

import { nativeServerBinary } from '../../src/server/native-server.ts';

export const hasNative = nativeServerBinary() !== undefined || Boolean(process.env.YOKE_TEST_REQUIRE_NATIVE);

/** For suites over both kinds: the native rows are marked as not run where they cannot. */
export const cannotRun = (kind: 'native' | 'wasm') => kind === 'native' && !hasNative;
