import type { LeadsServiceImplementation } from '@leadwire/contracts'
import { type Database, inTurn, type Logger } from '@leadwire/service-kit'
import type { OutboxEvent } from '../outbox/record-events'
import { scheduleAppointment } from '../scheduling/schedule-appointment'
import { scheduleCallback } from '../scheduling/schedule-callback'
import { checkReferences } from './check-references'
import { createLeads } from './create-leads'
import { getLeads } from './get-leads'
import type { Limits } from './limits'
import { listLeads } from './list-leads'
import { updateLead } from './update-lead'

export const leadsService = (deps: {
  database: Database
  assetsUrl: string
  limits: Limits
  logger: Logger
  onCommitted: (events: OutboxEvent[]) => void
}): LeadsServiceImplementation => ({
  getLeads: inTurn(getLeads(deps)),
  listLeads: inTurn(listLeads(deps)),
  createLeads: inTurn(createLeads(deps)),
  updateLead: updateLead(deps),
  scheduleAppointment: scheduleAppointment(deps),
  scheduleCallback: scheduleCallback(deps),
  checkReferences: checkReferences(deps),
})
