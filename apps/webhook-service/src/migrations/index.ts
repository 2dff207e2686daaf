import type { Migration } from '@leadwire/service-kit'
import { firstSchema } from './0001-first-schema'
import { notifications } from './0002-notifications'
import { audit } from './0003-audit'
import { sealedSecrets } from './0004-sealed-secrets'
import { endingSecrets } from './0005-ending-secrets'
import { idempotencyKeys } from './0006-idempotency-keys'
import { eventKinds } from './0007-event-kinds'
import { endpointHeaders } from './0008-endpoint-headers'
import { endpointFailures } from './0009-endpoint-failures'
import { erasedEvents } from './0010-erased-events'
import { heldAccounts } from './0011-held-accounts'
import { untoldFailures } from './0012-untold-failures'
import { untoldFailuresIndex } from './0013-untold-failures-index'
import { unsettledEndpoints } from './0014-unsettled-endpoints'
import { deliveriesByStatus } from './0015-deliveries-by-status'
import { fewerIndexes } from './0016-fewer-indexes'
import { keptEvents } from './0017-kept-events'
import { eventsByAge } from './0018-events-by-age'
import { refusedEvents } from './0019-refused-events'
import { fanOut } from './0020-fan-out'
import { sharedClaims } from './0021-shared-claims'
import { claimsOfBefore } from './0022-claims-of-before'
import { recoveriesByStatus } from './0023-recoveries-by-status'
import { eventNumbers } from './0024-event-numbers'
import { eventsByNumber } from './0025-events-by-number'

/** The schema of the database "webhooks", step by step. A step that changes deliveries changes them in both schemas. */
export const migrations: Migration[] = [
  firstSchema,
  notifications,
  audit,
  sealedSecrets,
  endingSecrets,
  idempotencyKeys,
  eventKinds,
  endpointHeaders,
  endpointFailures,
  erasedEvents,
  heldAccounts,
  untoldFailures,
  untoldFailuresIndex,
  unsettledEndpoints,
  deliveriesByStatus,
  fewerIndexes,
  keptEvents,
  eventsByAge,
  refusedEvents,
  fanOut,
  sharedClaims,
  claimsOfBefore,
  recoveriesByStatus,
  eventNumbers,
  eventsByNumber,
]
