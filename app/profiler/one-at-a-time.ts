/** Runs works one after the other: each gives the event loop back after a while, but several at once would do so after the sum. */
export function createOneAtATime(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const current = last.then(work);
    last = current.catch(() => undefined);
    return current;
  };
}
