import type {
  FailingEndpoint,
  ListFailingEndpointsRequest,
  ListFailingEndpointsResponse,
} from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import type { Clock } from '../clock'
import { NO_SUCCESS_SINCE } from './disable-failing-endpoint'

/** How long an endpoint has only failed before somebody is told. */
const TELL_AFTER_MS = 24 * 3_600_000
const AT_ONCE = 1000

const LIST = `
  SELECT p.id AS "endpointId", p.account_id AS "accountId"
  FROM endpoint_failures f JOIN endpoints p ON p.id = f.endpoint_id
  WHERE f.told_at IS NULL AND f.since <= $1 AND f.endpoint_id > $2
    AND p.enabled AND p.deleted_at IS NULL AND ${NO_SUCCESS_SINCE}
  ORDER BY f.endpoint_id LIMIT ${AT_ONCE}`

/** The latest instant since which an endpoint has only failed whose contact is to be told by now. */
export const toldSince = (clock: Clock): string =>
  new Date(clock.now().getTime() - TELL_AFTER_MS).toISOString()

/** Endpoints of all accounts that have only failed for 24 hours and that nobody was told of, by id, from one on. */
export const listFailingEndpoints = async (
  { database, clock }: { database: Database; clock: Clock },
  { afterEndpointId }: ListFailingEndpointsRequest,
): Promise<ListFailingEndpointsResponse> => ({
  endpoints: await database.query<FailingEndpoint>({
    name: 'list-failing-endpoints',
    text: LIST,
    values: [toldSince(clock), afterEndpointId ?? 0],
  }),
})
