import { operation } from '../api/operation'
import { dataOf } from '../api/schemas'
import { ImportRecord } from './import-schema'

export const retrieveImport = operation({
  route: 'GET /manage/imports/:id',
  operationId: 'retrieveImport',
  summary: 'Retrieve an import',
  description: 'How far it is. An import that ended 30 days ago is deleted.',
  answer: dataOf(ImportRecord, 'The import.'),
  handler: async ({ pathId, accountId, clients, limits }) =>
    (await clients.imports.retrieveImport({ accountId, importId: pathId() }, limits)).body,
})
