import { operation } from '../api/operation'
import { pathId } from '../api/path-id'
import { dataOf, IdParams } from '../api/schemas'
import { ImportRecord } from './import-schema'

/** POST /manage/imports/:id/cancel. */
export const cancelImport = operation({
  method: 'POST',
  url: '/manage/imports/:id/cancel',
  operationId: 'cancelImport',
  tag: 'Management',
  summary: 'Cancel an import',
  description: 'Leads that were created stay. An import that has ended stays as it is.',
  scope: 'manage',
  params: IdParams,
  answer: { description: 'The import as it is now.', schema: dataOf(ImportRecord) },
  handler: async ({ request, accountId, clients, limits }) =>
    (await clients.imports.cancelImport({ accountId, importId: pathId(request) }, limits)).body,
})
