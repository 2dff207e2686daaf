import type {
  Actor,
  CancelImportRequest,
  ListImportFaultsRequest,
  ListImportFaultsResponse,
  ListImportsRequest,
  ListImportsResponse,
  RetrieveImportRequest,
} from '@leadwire/contracts'
import { type Database, recordAudit, ServiceError } from '@leadwire/service-kit'
import { isId, validate } from '../../arguments'

/** What an import shows, in this order; of the table as `t`. */
export const IMPORT_COLUMNS = `t.id, t.state, t.format, t.webhooks, t.file_size, t.position AS bytes_read, t.rows_read,
  t.rows_created, t.rows_failed, t.failure, t.created_at, t.finished_at`

const PER_ANSWER = 100

const RETRIEVE = `SELECT ${IMPORT_COLUMNS} FROM imports t WHERE account_id = $1 AND id = $2`

// One row more than a response has shows whether more follow.
const LIST = `
  SELECT ${IMPORT_COLUMNS} FROM imports t
  WHERE account_id = $1 AND id < $2 ORDER BY id DESC LIMIT ${PER_ANSWER + 1}`

const LIST_FAULTS = `
  SELECT row, errors FROM import_faults
  WHERE account_id = $1 AND import_id = $2 AND row > $3 ORDER BY row LIMIT ${PER_ANSWER + 1}`

const CANCEL = `
  UPDATE imports t SET state = 'cancelled', finished_at = clock_timestamp()
  WHERE account_id = $1 AND id = $2 AND state IN ('queued', 'running')
  RETURNING ${IMPORT_COLUMNS}`

interface Deps {
  database: Database
  actor?: Actor | undefined
}

export const importBody = (row: object): Buffer => Buffer.from(`{"data":${JSON.stringify(row)}}`)

/** How far an import is. Throws not_found. */
export const retrieveImport =
  ({ database }: Deps) =>
  async ({ accountId, importId }: RetrieveImportRequest): Promise<{ body: Buffer }> => {
    validate({ account_id: isId(accountId), import_id: isId(importId) })
    const query = { name: 'retrieve-import', text: RETRIEVE, values: [accountId, importId] }
    const [row] = await database.query<{ id: number }>(query)
    if (!row) throw new ServiceError('not_found', 'There is no such import.')
    return { body: importBody(row) }
  }

/** An account's imports, newest first. */
export const listImports =
  ({ database }: Deps) =>
  async ({ accountId, before }: ListImportsRequest): Promise<ListImportsResponse> => {
    validate({ account_id: isId(accountId), before: before === undefined || isId(before) })
    const values = [accountId, before ?? Number.MAX_SAFE_INTEGER]
    const rows = await database.query<{ id: number }>({ name: 'list-imports', text: LIST, values })
    const shown = rows.slice(0, PER_ANSWER)
    return {
      items: Buffer.from(JSON.stringify(shown)),
      nextBefore: rows.length > PER_ANSWER ? shown.at(-1)!.id : undefined,
    }
  }

/** The rows of an import that were refused, and why, in their order. Throws not_found. */
export const listImportFaults =
  (deps: Deps) =>
  async ({ accountId, importId, after = 0 }: ListImportFaultsRequest): Promise<ListImportFaultsResponse> => {
    validate({ after: after === 0 || isId(after) })
    await retrieveImport(deps)({ accountId, importId })
    const query = { name: 'list-import-faults', text: LIST_FAULTS, values: [accountId, importId, after] }
    const rows = await deps.database.query<{ row: number; errors: string }>(query)
    const shown = rows.slice(0, PER_ANSWER)
    const items = shown.map(({ row, errors }) => `{"row":${row},"errors":${errors}}`)
    return {
      items: Buffer.from(`[${items.join()}]`),
      nextAfter: rows.length > PER_ANSWER ? shown.at(-1)!.row : undefined,
    }
  }

/** Ends an import: no row more is created, and those that were stay. One that has ended stays as it is. Throws not_found. */
export const cancelImport =
  (deps: Deps) =>
  async ({ accountId, importId }: CancelImportRequest): Promise<{ body: Buffer }> => {
    validate({ account_id: isId(accountId), import_id: isId(importId) })
    const cancelled = await deps.database.transaction(async (tx) => {
      const [row] = await tx.query<{ id: number }>({ text: CANCEL, values: [accountId, importId] })
      if (row) recordAudit(tx, deps.actor, { accountId, action: 'import.cancelled', targetId: importId })
      return row
    })
    return cancelled ? { body: importBody(cancelled) } : retrieveImport(deps)({ accountId, importId })
  }
