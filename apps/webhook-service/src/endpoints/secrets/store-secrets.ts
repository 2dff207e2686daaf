import type { RetrieveWebhookEndpointRequest as Key } from '@leadwire/contracts'
import {
  columnsByName,
  type Database,
  type Sealer,
  statement,
  type Transaction,
  theRow,
} from '@leadwire/service-kit'
import type { Clock } from '../../clock'
import {
  openSecrets,
  type SealedSecrets,
  type Secrets,
  sealSecrets,
  selectSealedSecrets,
} from './sealed-secrets'

/** How many endpoints one transaction updates. A larger batch would lock endpoints for too long. */
const BATCH = 1000

type Row = SealedSecrets & Key

const lock = statement<SealedSecrets>('lock-endpoint-secrets')`
  SELECT ${selectSealedSecrets('p')} FROM endpoints p
  WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL FOR NO KEY UPDATE`

const save = statement('save-secrets')`
  UPDATE endpoints p SET sealed_secrets = s.sealed, secrets_end_at = s.ends_at
  FROM unnest(:endpointId::bigint[], :sealed::bytea[], :endsAt::timestamptz[]) AS s (id, sealed, ends_at)
  WHERE p.id = s.id`

const readLastId = statement<{ last: number }>('last-endpoint')`
  SELECT coalesce(max(id), 0) AS last FROM endpoints`

const lockUnderOtherKeys = statement<Row>('secrets-under-other-keys')`
  SELECT id AS "endpointId", ${selectSealedSecrets('p')} FROM endpoints p
  WHERE id >= :from AND id < :before AND substring(sealed_secrets FOR :prefixLength) <> :prefix
  ORDER BY id FOR NO KEY UPDATE`

const lockEnded = statement<Row>('ended-secrets')`
  SELECT id AS "endpointId", ${selectSealedSecrets('p')} FROM endpoints p WHERE secrets_end_at <= $1
  ORDER BY secrets_end_at LIMIT ${BATCH} FOR NO KEY UPDATE SKIP LOCKED`

/** Locks an endpoint until the transaction ends and returns its secrets. Throws `not_found`. */
export const lockSecrets = async (tx: Transaction, sealer: Sealer, { accountId, endpointId }: Key) => {
  const rows = await lock(tx, accountId, endpointId)
  return openSecrets(sealer, theRow(rows, 'webhook endpoint'))
}

/** Encrypts and stores the secrets of endpoints. */
export const saveSecrets = async (
  tx: Transaction,
  sealer: Sealer,
  endpoints: (Key & { secrets: Secrets })[],
): Promise<void> => {
  const rows = endpoints.map(({ endpointId, accountId, secrets }) => ({
    endpointId,
    ...sealSecrets(sealer, accountId, secrets),
  }))
  if (rows.length > 0) await save(tx, columnsByName(rows, 'endpointId', 'sealed', 'endsAt'))
}

/** Encrypts the secrets of these rows with the first key, and removes old secrets that have ended. */
const refresh = (tx: Transaction, sealer: Sealer, rows: Row[], now: Date) => {
  const endpoints = rows.map((row) => {
    const secrets = openSecrets(sealer, row)
    const oldSecrets = secrets.oldSecrets.filter(({ until }) => Date.parse(until) > now.getTime())
    return { ...row, secrets: { ...secrets, oldSecrets } }
  })
  return saveSecrets(tx, sealer, endpoints)
}

type Dependencies = { sealer: Sealer; clock: Clock }

/**
 * Re-encrypts all secrets that are not encrypted with the first key. Throws `internal` if no key decrypts a
 * secret.
 */
export const reencryptSecrets = async (database: Database, deps: Dependencies): Promise<void> => {
  const { sealer, clock } = deps
  const { prefix } = sealer
  const [row] = await readLastId(database)
  for (let from = 1; from <= row!.last; from += BATCH)
    await database.transaction(async (tx) => {
      const range = { from, before: from + BATCH }
      const rows = await lockUnderOtherKeys(tx, { ...range, prefixLength: prefix.length, prefix })
      await refresh(tx, sealer, rows, clock.now())
    })
}

/** Removes a batch of old secrets that have ended. Resolves with whether there may be more. */
export const removeEndedSecrets = (database: Database, { sealer, clock }: Dependencies): Promise<boolean> =>
  database.transaction(async (tx) => {
    const now = clock.now()
    const rows = await lockEnded(tx, now)
    await refresh(tx, sealer, rows, now)
    return rows.length === BATCH
  })
