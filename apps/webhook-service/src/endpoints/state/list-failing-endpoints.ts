import type { FailingEndpoint } from '@leadwire/contracts'
import type { Clock } from '../../clock'
import type { Operation } from '../../operation'
import { statement } from '../../statement'

/** The account's contact is notified of an endpoint that has only failed for so long. */
const NOTIFY_AFTER_MS = 24 * 3_600_000

const list = statement<FailingEndpoint>('list-failing-endpoints')`
  SELECT p.id AS "endpointId", p.account_id AS "accountId"
  FROM endpoint_failures f JOIN endpoints p ON p.id = f.endpoint_id
  WHERE f.notified_at IS NULL AND f.since <= $1 AND f.endpoint_id > $2 AND p.enabled AND p.deleted_at IS NULL
  ORDER BY f.endpoint_id LIMIT 1000`

/** The latest start of a failure of which the contact is notified now. */
export const notifiedSince = (clock: Clock): Date => new Date(clock.now().getTime() - NOTIFY_AFTER_MS)

/** Endpoints of all accounts that have only failed for 24 hours, and of which no contact was notified, by id. */
export const listFailingEndpoints: Operation<'listFailingEndpoints'> = async (
  { database, clock },
  { afterEndpointId = 0 },
) => ({ endpoints: await list(database, notifiedSince(clock), afterEndpointId) })
