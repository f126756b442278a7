/** Replaces a method until the returned function is called; an inherited one is inherited again. */
export function replaceMethod<T extends object, K extends keyof T>(
  target: T,
  name: K,
  method: T[K],
): () => void {
  const own = Object.getOwnPropertyDescriptor(target, name);
  Object.defineProperty(target, name, {
    value: method,
    writable: true,
    enumerable: own?.enumerable ?? false,
    configurable: true,
  });
  return () => {
    // Somebody wrapped ours since: it stays below theirs, and passes everything on.
    if (target[name] !== method) return;
    if (own === undefined) Reflect.deleteProperty(target, name);
    else Object.defineProperty(target, name, own);
  };
}
