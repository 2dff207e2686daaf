import { Image } from '@leadwire/contracts'
import { leadListOperation } from '../api/list-operation'

export const listAttachments = leadListOperation({
  route: 'GET /leads/:reference/attachments',
  operationId: 'listAttachments',
  tag: 'Attachments',
  summary: 'List attachments',
  record: Image,
  find: ({ clients, limits, addressOf, request }, asked) =>
    clients.attachments.listAttachments({ ...asked, baseUrl: addressOf(request) }, limits),
})
