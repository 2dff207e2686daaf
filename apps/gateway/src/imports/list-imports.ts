import { importListOperation } from './import-list-operation'
import { ImportRecord } from './import-schema'

/** GET /manage/imports. */
export const listImports = importListOperation({
  url: '/manage/imports',
  operationId: 'listImports',
  summary: 'List imports',
  description: 'Newest first.',
  record: ImportRecord,
  find: async ({ accountId, clients, limits }, before) => {
    const { items, nextBefore } = await clients.imports.listImports({ accountId, before }, limits)
    return { items, next: nextBefore }
  },
})
