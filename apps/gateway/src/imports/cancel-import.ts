import { operation } from '../api/operation'
import { dataOf } from '../api/schemas'
import { ImportRecord } from './import-schema'

export const cancelImport = operation({
  route: 'POST /manage/imports/:id/cancel',
  operationId: 'cancelImport',
  summary: 'Cancel an import',
  description: 'Leads that were created stay. An import that has ended stays as it is.',
  answer: dataOf(ImportRecord, 'The import as it is now.'),
  handler: async ({ pathId, accountId, clients, limits }) =>
    (await clients.imports.cancelImport({ accountId, importId: pathId() }, limits)).body,
})
