/** Settles as `work` does, or rejects with `late()` if that takes longer; then `work` goes on. */
export async function within<T>(work: Promise<T>, ms: number, late: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(late());
    }, ms);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

export async function settledWithin(work: Promise<unknown>, ms: number): Promise<void> {
  await within(work, ms, () => new Error('too late')).catch(() => undefined);
}
