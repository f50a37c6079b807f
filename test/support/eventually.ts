// Retries an assertion until it holds: the fallback where there is no signal to wait for.

export async function eventually<T>(check: () => Promise<T> | T, timeoutMs = 20_000): Promise<T> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

/** Resolves with the arguments of the next such event; rejects after a while. */
export function nextEvent(
  emitter: { once(event: string, listener: (...args: any[]) => void): unknown },
  event: string,
  timeoutMs = 20_000,
): Promise<any[]> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no ${event} event within ${timeoutMs} ms`)), timeoutMs);
    emitter.once(event, (...args) => {
      clearTimeout(timer);
      resolve(args);
    });
  });
}
