import { idOf, listOperation } from '../api/list-operation'
import { ImportRecord } from './import-schema'

export const listImports = listOperation({
  route: 'GET /manage/imports',
  operationId: 'listImports',
  summary: 'List imports',
  description:
    'Newest first. At most 100 in an answer. The `next_cursor` of an answer asks for those that follow.',
  record: ImportRecord,
  answer: 'The first, or those that follow the cursor.',
  find: async ({ accountId, clients, limits }, _filters, cursor) => {
    const { items, nextBefore } = await clients.imports.listImports(
      { accountId, before: idOf(cursor) },
      limits,
    )
    return { items, next: nextBefore }
  },
})
