import { leadReference } from '../api/lead-reference'
import { operation } from '../api/operation'
import { dataOf, LeadParams } from '../api/schemas'
import { ExportedLead } from './export-schema'
import { exportedLead } from './exported-lead'

/** GET /manage/leads/:reference/export. */
export const exportLead = operation({
  method: 'GET',
  url: '/manage/leads/:reference/export',
  operationId: 'exportLead',
  tag: 'Privacy',
  summary: 'Export all that is held of a lead',
  description:
    'At most 1000 records of its history, appointments, callbacks and attachments each, 100 events of each kind with 500 deliveries, and 8 MB of their bodies.',
  scope: 'manage',
  params: LeadParams,
  answer: { description: 'The lead and all that belongs to it.', schema: dataOf(ExportedLead) },
  handler: async (call) => `{"data":${await exportedLead(call, leadReference(call.request))}}`,
})
