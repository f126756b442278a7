/** Writes records to a store in files until it is killed; with `end`, some of them, and ends at once. Prints how many it added. */
import { createFolderDisk } from '../../app/storage/files/disk.ts';
import { createFileStore } from '../../app/storage/files/file-store.ts';
import { itemOf } from '../storage/store-contract.ts';

const [folder = '', how] = process.argv.slice(2);
const store = createFileStore({
  disk: createFolderDisk(folder),
  project: '/project',
  script: '',
  guard: null,
  thread: 0,
  warn: console.error,
});

let added = 0;
function add(): void {
  store.add([itemOf(++added, { startedAt: Date.now() })]);
  if (added % 10 === 0) process.stdout.write(`${added}\n`);
}

if (how === 'end') {
  process.on('exit', () => store.closeSync?.());
  while (added < 50) add();
} else setInterval(add, 1);
