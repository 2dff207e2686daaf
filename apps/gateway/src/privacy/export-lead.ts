import { operation } from '../api/operation'
import { dataOf } from '../api/schemas'
import { ExportedLead } from './export-schema'
import { exportedLead } from './exported-lead'

export const exportLead = operation({
  route: 'GET /manage/leads/:reference/export',
  operationId: 'exportLead',
  tag: 'Privacy',
  summary: 'Export all that is held of a lead',
  description:
    'At most 1000 records of its history, appointments, callbacks and attachments each, 100 events of each kind with 500 deliveries, and 8 MB of their bodies.',
  answer: dataOf(ExportedLead, 'The lead and all that belongs to it.'),
  handler: async (call) => `{"data":${await exportedLead(call, call.leadReference())}}`,
})
