import { cutText } from './plain.ts';

/** One line about what was thrown, whatever it is; never throws itself. */
export function describeError(error: unknown): { name: string; message: string } {
  try {
    if (error instanceof Error) {
      return { name: cutText(String(error.name), 200), message: cutText(String(error.message), 8192) };
    }
    return { name: error === null ? 'null' : typeof error, message: cutText(String(error), 8192) };
  } catch {
    return { name: 'Error', message: 'something was thrown that can not be read' };
  }
}
