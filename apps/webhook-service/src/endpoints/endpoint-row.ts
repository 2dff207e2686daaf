import {
  ENDPOINT_INCLUDES,
  ENDPOINT_LEADS,
  Endpoint,
  EVENT_TYPES,
  filterRecord,
  isOneLine,
} from '@leadwire/contracts'
import { ServiceError, statement, type Transaction, theRow } from '@leadwire/service-kit'
import { isOneOf } from '../arguments'
import { microseconds } from '../clock'
import type { Dependencies } from '../operation'
import { filterOfColumn, filterViolations } from './filter'
import { lastEnd, type SealedSecrets } from './secrets/sealed-secrets'

const MAX_URL = 2048

export const ENDPOINT_COLUMNS = `id, url, description, enabled, events, leads, filter, include, header_names AS "headerNames",
  disabled_reason AS "disabledReason", created_at AS "createdAt", updated_at AS "updatedAt",
  account_id AS "accountId", CASE WHEN secrets_end_at IS NOT NULL THEN sealed_secrets END AS "sealedSecrets"`

type Row = SealedSecrets & { filter?: ReturnType<typeof filterRecord> }

type Shown = Pick<Dependencies, 'sealer' | 'clock'>

/** The endpoint of a row with these columns. NULL is undefined in a message. */
export const endpointOf = ({ sealer, clock }: Shown, row: Row): Endpoint => {
  const end = row.sealedSecrets === null ? undefined : lastEnd(sealer, row, clock.now())
  return Endpoint.fromPartial({
    ...row,
    filter: filterOfColumn(row.filter),
    ...(end && { previousSecretUntil: microseconds(end) }),
  })
}

export const auditedEndpoint = (endpoint: Endpoint) => {
  const { url, description, enabled, events, leads, filter, include, headerNames } = endpoint
  return {
    ...{ url, description, enabled, events, leads, filter: filterRecord(filter) },
    ...(include.length > 0 && { include }),
    ...(headerNames.length > 0 && { headers: headerNames }),
  }
}

export const theEndpoint = (shown: Shown, rows: SealedSecrets[]): Endpoint =>
  endpointOf(shown, theRow(rows, 'webhook endpoint'))

export interface LockedEndpoint {
  accountId: number
  enabled: boolean
  deleted: boolean
}

const lock = statement<LockedEndpoint>('lock-endpoint')`
  SELECT account_id AS "accountId", enabled, deleted_at IS NOT NULL AS deleted FROM endpoints WHERE id = $1 FOR SHARE`

/** The state of an endpoint, which stays until the transaction ends. An endpoint that never existed counts as deleted. */
export const lockEndpoint = async (tx: Transaction, endpointId: number): Promise<LockedEndpoint> =>
  (await lock(tx, endpointId))[0] ?? { accountId: 0, enabled: false, deleted: true }

/** Locks the endpoint of an account against changes. Throws not_found, and conflict while it is disabled. */
export const lockReceiving = async (
  tx: Transaction,
  { accountId, endpointId }: { accountId: number; endpointId: number },
): Promise<void> => {
  const endpoint = await lockEndpoint(tx, endpointId)
  if (endpoint.deleted || endpoint.accountId !== accountId)
    throw new ServiceError('not_found', 'There is no such webhook endpoint.')
  if (!endpoint.enabled) throw new ServiceError('conflict', 'The endpoint is disabled. Enable it first.')
}

export const urlViolation = (text: string): string | undefined => {
  if ([...text].length > MAX_URL) return `must not be longer than ${MAX_URL} characters`
  // The URL parser drops tabs and line breaks without an error.
  if (!isOneLine(text) || !URL.canParse(text)) return 'must be a well-formed URL'
  if (!/^https?:\/\//i.test(text)) return 'must begin with http:// or https://'
  const { username, password } = new URL(text)
  return username === '' && password === '' ? undefined : 'must not carry a user name or a password'
}

/** Whether words are some of the known ones, each once. */
const areSome = (words: string[], all: readonly string[]) =>
  all.filter((word) => words.includes(word)).length === words.length

export const typesViolation = (types: string[] | undefined): string | true =>
  types === undefined ||
  (types.length > 0 && areSome(types, EVENT_TYPES)) ||
  `must be one or more of ${EVENT_TYPES.join(', ')}, each once`

type Fields = Pick<Endpoint, 'url' | 'events' | 'leads' | 'filter' | 'include'>

/** `refusal`: why the egress guard refuses the URL. */
export const endpointViolations = (
  { url, events, leads, filter, include }: { [Name in keyof Fields]: Fields[Name] | undefined },
  refusal: string | undefined,
) => ({
  url: url === undefined ? undefined : (urlViolation(url) ?? refusal),
  events: typesViolation(events),
  leads: isOneOf(ENDPOINT_LEADS, leads),
  ...filterViolations(filter),
  include:
    include === undefined ||
    areSome(include, ENDPOINT_INCLUDES) ||
    `must be some of ${ENDPOINT_INCLUDES.join(', ')}, each once`,
})
