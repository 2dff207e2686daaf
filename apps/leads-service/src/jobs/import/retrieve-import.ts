import type { RetrieveImportRequest, RetrieveImportResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { isId, validate } from '../../arguments'
import { IMPORT_COLUMNS, type ImportRow, importBody, importNotFound } from './import-row'

const SELECT = `SELECT ${IMPORT_COLUMNS} FROM imports t WHERE account_id = $1 AND id = $2`

/** How far an import is. Throws not_found. */
export const retrieveImport =
  (deps: { database: Database }) =>
  async ({ accountId, importId }: RetrieveImportRequest): Promise<RetrieveImportResponse> => {
    validate({ account_id: isId(accountId), import_id: isId(importId) })
    const query = { name: 'retrieve-import', text: SELECT, values: [accountId, importId] }
    const [row] = await deps.database.query<ImportRow>(query)
    if (!row) throw importNotFound()
    return { body: importBody(row) }
  }
