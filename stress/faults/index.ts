/** All faults, by number. */
import { clients } from './clients.ts';
import { databaseFaults } from './database.ts';
import type { Fault } from './drive.ts';
import { embeddedFaults } from './embedded.ts';
import { endings } from './endings.ts';
import { faultsInside } from './inside.ts';
import { limits } from './limits.ts';
import { longFaults } from './long.ts';
import { pageFaults } from './pages.ts';
import { several } from './several.ts';

export const faults: readonly Fault[] = [
  ...databaseFaults,
  ...endings,
  ...faultsInside,
  ...limits,
  ...several,
  ...clients,
  ...longFaults,
  ...pageFaults,
  ...embeddedFaults,
];
