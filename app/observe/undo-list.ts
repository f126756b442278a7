export function createUndoList() {
  const undoOf = new WeakMap<object, () => void>();
  const changed = new Set<WeakRef<object>>();
  const forgotten = new FinalizationRegistry<WeakRef<object>>((ref) => changed.delete(ref));
  return {
    add(target: object, undo: () => void): void {
      undoOf.set(target, undo);
      const ref = new WeakRef(target);
      changed.add(ref);
      forgotten.register(target, ref);
    },
    undo(): void {
      for (const ref of changed) undoOf.get(ref.deref() ?? ref)?.();
      changed.clear();
    },
  };
}
