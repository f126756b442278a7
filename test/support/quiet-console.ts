/** Registers hooks for the current `describe`: what the application under test logs is recorded, not printed. */
const METHODS = ['debug', 'info', 'warn', 'error'] as const;

/** Call it before the profiler is started, so that the profiler wraps what is quiet. */
export function withQuietConsole(): void {
  const originals = METHODS.map((name) => [name, console[name]] as const);
  before(() => {
    for (const name of METHODS) console[name] = () => undefined;
  });
  after(() => {
    for (const [name, method] of originals) console[name] = method;
  });
}
