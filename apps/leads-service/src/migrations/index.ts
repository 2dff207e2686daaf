import type { Migration } from '@leadwire/service-kit'
import { firstSchema } from './0001-first-schema'
import { publishNotifications } from './0002-publish-notifications'
import { removedUsers } from './0003-removed-users'
import { emailsOfPresentUsers } from './0004-emails-of-present-users'
import { freeEmails } from './0005-free-emails'
import { leadHistory } from './0006-lead-history'
import { audit } from './0007-audit'
import { leadFilters } from './0008-lead-filters'
import { leadSearch } from './0009-lead-search'
import { imports } from './0010-imports'
import { publishChanges } from './0011-publish-changes'
import { erasures } from './0012-erasures'
import { placesOfAPerson } from './0013-places-of-a-person'
import { accountDeletions } from './0014-account-deletions'
import { contact } from './0015-contact'
import { oldKeys } from './0016-old-keys'
import { refusedEvents } from './0017-refused-events'
import { reconciliation } from './0018-reconciliation'
import { unorderedFingerprints } from './0019-unordered-fingerprints'
import { tracesOfEvents } from './0020-traces-of-events'
import { fewerChecks } from './0021-fewer-checks'
import { personsByWords } from './0022-persons-by-words'
import { importDelimiter } from './0023-import-delimiter'
import { postcodes } from './0024-postcodes'
import { eventTypes } from './0025-event-types'

/** The schema of the database "leads", step by step. */
export const migrations: Migration[] = [
  firstSchema,
  publishNotifications,
  removedUsers,
  emailsOfPresentUsers,
  freeEmails,
  leadHistory,
  audit,
  leadFilters,
  leadSearch,
  imports,
  publishChanges,
  erasures,
  placesOfAPerson,
  accountDeletions,
  contact,
  oldKeys,
  refusedEvents,
  reconciliation,
  unorderedFingerprints,
  tracesOfEvents,
  fewerChecks,
  personsByWords,
  importDelimiter,
  postcodes,
  eventTypes,
]
