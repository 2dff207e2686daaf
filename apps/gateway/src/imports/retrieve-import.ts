import { operation } from '../api/operation'
import { pathId } from '../api/path-id'
import { dataOf, IdParams } from '../api/schemas'
import { ImportRecord } from './import-schema'

/** GET /manage/imports/:id. */
export const retrieveImport = operation({
  method: 'GET',
  url: '/manage/imports/:id',
  operationId: 'retrieveImport',
  tag: 'Management',
  summary: 'Retrieve an import',
  description: 'How far it is. An import that ended 30 days ago is forgotten.',
  scope: 'manage',
  params: IdParams,
  answer: { description: 'The import.', schema: dataOf(ImportRecord) },
  handler: async ({ request, accountId, clients, limits }) =>
    (await clients.imports.retrieveImport({ accountId, importId: pathId(request) }, limits)).body,
})
