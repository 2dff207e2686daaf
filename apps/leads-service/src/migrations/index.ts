import type { Migration } from '@leadwire/service-kit'
import { firstSchema } from './0001-first-schema'
import { publishNotifications } from './0002-publish-notifications'
import { removedUsers } from './0003-removed-users'
import { emailsOfPresentUsers } from './0004-emails-of-present-users'
import { freeEmails } from './0005-free-emails'
import { leadHistory } from './0006-lead-history'
import { audit } from './0007-audit'

/** The schema of the database "leads", step by step. */
export const migrations: Migration[] = [
  firstSchema,
  publishNotifications,
  removedUsers,
  emailsOfPresentUsers,
  freeEmails,
  leadHistory,
  audit,
]
