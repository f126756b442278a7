/** All faults. */
import { clients } from './clients.ts';
import { databaseFaults } from './database.ts';
import type { Fault } from './drive.ts';
import { endings } from './endings.ts';
import { faultsInside } from './inside.ts';
import { limits } from './limits.ts';
import { several } from './several.ts';

export const faults: readonly Fault[] = [
  ...databaseFaults,
  ...endings,
  ...faultsInside,
  ...limits,
  ...several,
  ...clients,
];
