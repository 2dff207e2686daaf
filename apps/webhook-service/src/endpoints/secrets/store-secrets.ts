import type { RetrieveWebhookEndpointRequest as Key } from '@leadwire/contracts'
import {
  columnsOf,
  type Database,
  type Sealer,
  statement,
  type Transaction,
  theRow,
} from '@leadwire/service-kit'
import type { Clock } from '../../clock'
import { openSecrets, type SealedSecrets, type Secrets, sealedSecretsOf, sealSecrets } from './sealed-secrets'

/** Endpoints of one transaction; more would hold their locks for too long. */
const BATCH = 1000

type Row = SealedSecrets & Key

const lock = statement<SealedSecrets>('lock-endpoint-secrets')`
  SELECT ${sealedSecretsOf('p')} FROM endpoints p WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL FOR NO KEY UPDATE`

const save = statement('save-secrets')`
  UPDATE endpoints p SET sealed_secrets = s.sealed, secrets_end_at = s.ends_at
  FROM unnest($1::bigint[], $2::bytea[], $3::timestamptz[]) AS s (id, sealed, ends_at) WHERE p.id = s.id`

const lastEndpoint = statement<{ last: number }>('last-endpoint')`
  SELECT coalesce(max(id), 0) AS last FROM endpoints`

const underOtherKeys = statement<Row>('secrets-under-other-keys')`
  SELECT id AS "endpointId", ${sealedSecretsOf('p')} FROM endpoints p
  WHERE id >= $1 AND id < $2 AND substring(sealed_secrets FOR $3) <> $4 ORDER BY id FOR NO KEY UPDATE`

const ended = statement<Row>('ended-secrets')`
  SELECT id AS "endpointId", ${sealedSecretsOf('p')} FROM endpoints p WHERE secrets_end_at <= $1
  ORDER BY secrets_end_at LIMIT ${BATCH} FOR NO KEY UPDATE SKIP LOCKED`

/** An endpoint's secrets, locked until the transaction ends. Throws not_found. */
export const lockSecrets = async (tx: Transaction, sealer: Sealer, { accountId, endpointId }: Key) =>
  openSecrets(sealer, theRow(await lock(tx, accountId, endpointId), 'webhook endpoint'))

export const saveSecrets = async (
  tx: Transaction,
  sealer: Sealer,
  endpoints: (Key & { secrets: Secrets })[],
): Promise<void> => {
  const rows = endpoints.map(({ endpointId, accountId, secrets }) => ({
    ...{ endpointId, ...sealSecrets(sealer, accountId, secrets) },
  }))
  if (rows.length > 0) await save(tx, ...columnsOf(rows, 'endpointId', 'sealed', 'endsAt'))
}

/** Encrypts with the first key, and leaves out secrets that have ended. */
const refresh = (tx: Transaction, sealer: Sealer, rows: Row[], now: Date) => {
  const endpoints = rows.map((row) => {
    const secrets = openSecrets(sealer, row)
    const oldSecrets = secrets.oldSecrets.filter(({ until }) => Date.parse(until) > now.getTime())
    return { ...row, secrets: { ...secrets, oldSecrets } }
  })
  return saveSecrets(tx, sealer, endpoints)
}

type Dependencies = { sealer: Sealer; clock: Clock }

/** Encrypts with the first key all secrets that are under another. Throws internal for secrets that no key opens. */
export const reencryptSecrets = async (database: Database, deps: Dependencies): Promise<void> => {
  const { sealer, clock } = deps
  const { prefix } = sealer
  const [{ last } = { last: 0 }] = await lastEndpoint(database)
  for (let first = 1; first <= last; first += BATCH)
    await database.transaction(async (tx) => {
      const rows = await underOtherKeys(tx, first, first + BATCH, prefix.length, prefix)
      await refresh(tx, sealer, rows, clock.now())
    })
}

/** Removes a batch of replaced secrets that have ended. Resolves with whether there may be more. */
export const removeEndedSecrets = (database: Database, { sealer, clock }: Dependencies): Promise<boolean> =>
  database.transaction(async (tx) => {
    const now = clock.now()
    const rows = await ended(tx, now)
    await refresh(tx, sealer, rows, now)
    return rows.length === BATCH
  })
