import type { Actor, CreateImportRequest } from '@leadwire/contracts'
import {
  answerUnderKey,
  differences,
  type OpenTransaction,
  recordAudit,
  requirePart,
  ServiceError,
} from '@leadwire/service-kit'
import { throwFailure } from '../../database/managed-records'
import type { Operation } from '../../operation'
import { IMPORT_COLUMNS, importBody } from './imports'

/** The maximum number of an account's imports whose files are still stored. */
const MAX_OPEN = 20

// Locks the account's row, so that concurrent requests do not exceed the limit together. Creating a lead
// locks the same row, but only briefly.
const LOCK = 'SELECT id FROM accounts WHERE id = $1 FOR NO KEY UPDATE'

const COUNT_OPEN = 'SELECT count(*)::int AS count FROM imports WHERE account_id = $1 AND key IS NOT NULL'

const INSERT = `
  INSERT INTO imports AS t
    (account_id, format, webhooks, user_agent, ip, test, token_id, user_id, request_id, key, file_size,
      file_name)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
  RETURNING ${IMPORT_COLUMNS}`

const refuseTooMany = async (tx: OpenTransaction, accountId: number): Promise<void> => {
  tx.send({ text: LOCK, values: [accountId] })
  const [open] = await tx.query<{ count: number }>({ text: COUNT_OPEN, values: [accountId] })
  if (open!.count < MAX_OPEN) return
  const message = `An account may have at most ${MAX_OPEN} unfinished imports. Try again when an import has finished.`
  throw ServiceError.invalid({ file: [message] })
}

const insertImport = async (
  tx: OpenTransaction,
  request: CreateImportRequest,
  actor: Actor | undefined,
): Promise<Buffer> => {
  const { accountId, format, webhooks, visitor, key, fileSize, fileName = null } = request
  await refuseTooMany(tx, accountId)
  const { userAgent, ip, test } = requirePart(visitor, 'visitor')
  const by = [actor?.tokenId ?? null, actor?.userId ?? null, actor?.requestId ?? null]
  const values = [accountId, format, webhooks, userAgent, ip, test, ...by, key, fileSize, fileName]
  const [row] = await tx.query<{ id: number }>({ text: INSERT, values })
  const changes = differences({}, { format, webhooks, file_size: fileSize })
  recordAudit(tx, actor, { accountId, action: 'import.created', targetId: row!.id, changes })
  return importBody(row!)
}

/** Records a stored file as an import that waits for a worker. */
export const createImport: Operation<'createImport'> = async ({ database, actor }, request) => {
  const { idempotency } = request
  const insert = (tx: OpenTransaction) => insertImport(tx, request, actor)
  return database.transaction((tx) => answerUnderKey(tx, idempotency, () => insert(tx))).catch(throwFailure)
}
