import type { Actor, CreateImportRequest, Visitor } from '@leadwire/contracts'
import { differences, type OpenTransaction, recordAudit, ServiceError } from '@leadwire/service-kit'
import { isId, isSaid, isText, validate } from '../../arguments'
import { throwFailure } from '../../database/managed-records'
import { underKey } from '../../idempotency/idempotency-keys'
import type { Operation } from '../../operation'
import { IMPORT_COLUMNS, importBody } from './imports'

/** How many imports of an account may wait: each has a file of its own. */
const MAX_OPEN = 20

// The account's row is what two requests at once are counted by. A create locks it too, for a moment.
const LOCK = 'SELECT id FROM accounts WHERE id = $1 FOR NO KEY UPDATE'

const COUNT_OPEN = 'SELECT count(*)::int AS count FROM imports WHERE account_id = $1 AND key IS NOT NULL'

const INSERT = `
  INSERT INTO imports AS t
    (account_id, format, webhooks, user_agent, ip, test, token_id, request_id, key, file_size)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
  RETURNING ${IMPORT_COLUMNS}`

const isVisitor = ({ userAgent, ip }: Visitor) => isText(userAgent, 1024) && isText(ip)

const refuseTooMany = async (tx: OpenTransaction, accountId: number): Promise<void> => {
  tx.send({ text: LOCK, values: [accountId] })
  const [open] = await tx.query<{ count: number }>({ text: COUNT_OPEN, values: [accountId] })
  if (open!.count < MAX_OPEN) return
  const message = `An account may have at most ${MAX_OPEN} imports that are not done. Try again when one is.`
  throw ServiceError.invalid({ file: [message] })
}

const insertImport = async (
  tx: OpenTransaction,
  { accountId, format, webhooks, visitor, key, fileSize }: CreateImportRequest,
  actor: Actor | undefined,
): Promise<Buffer> => {
  await refuseTooMany(tx, accountId)
  const { userAgent, ip, test } = visitor!
  const by = [actor?.tokenId ?? null, actor?.requestId ?? null]
  const values = [accountId, format, webhooks, userAgent, ip, test, ...by, key, fileSize]
  const [row] = await tx.query<{ id: number }>({ text: INSERT, values })
  const changes = differences({}, { format, webhooks, file_size: fileSize })
  recordAudit(tx, actor, { accountId, action: 'import.created', targetId: row!.id, changes })
  return importBody(row!)
}

/** Records a stored file as an import that waits for a worker. */
export const createImport: Operation<'createImport'> = async ({ database, actor }, request) => {
  const { accountId, format, visitor, key, fileSize, idempotency, claimId } = request
  validate({
    account_id: isId(accountId),
    format: format === 'csv' || format === 'ndjson',
    visitor: visitor !== undefined && isVisitor(visitor),
    key: isSaid(key),
    file_size: isId(fileSize),
  })
  const insert = (tx: OpenTransaction) => insertImport(tx, request, actor)
  return database
    .transaction((tx) => underKey(tx, idempotency, () => insert(tx), claimId))
    .catch(throwFailure)
}
