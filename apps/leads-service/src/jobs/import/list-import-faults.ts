import type { ListImportFaultsRequest, ListImportFaultsResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { isId, validate } from '../../arguments'
import { importNotFound } from './import-row'

const PER_ANSWER = 100

const FIND = 'SELECT id FROM imports WHERE account_id = $1 AND id = $2'

const SELECT = `
  SELECT row, errors FROM import_faults
  WHERE account_id = $1 AND import_id = $2 AND row > $3 ORDER BY row LIMIT ${PER_ANSWER + 1}`

/** The rows of an import that were refused, and why, in their order. Throws not_found. */
export const listImportFaults =
  (deps: { database: Database }) =>
  async ({ accountId, importId, after = 0 }: ListImportFaultsRequest): Promise<ListImportFaultsResponse> => {
    validate({ account_id: isId(accountId), import_id: isId(importId), after: after === 0 || isId(after) })
    const rows = await deps.database.connection(async (db) => {
      const found = { name: 'find-import', text: FIND, values: [accountId, importId] }
      if ((await db.query(found)).length === 0) throw importNotFound()
      const query = { name: 'list-import-faults', text: SELECT, values: [accountId, importId, after] }
      return db.query<{ row: number; errors: string }>(query)
    })
    const shown = rows.slice(0, PER_ANSWER)
    return {
      items: Buffer.from(
        `[${shown.map(({ row, errors }) => `{"row":${row},"errors":${errors}}`).join(',')}]`,
      ),
      nextAfter: rows.length > PER_ANSWER ? shown.at(-1)!.row : undefined,
    }
  }
