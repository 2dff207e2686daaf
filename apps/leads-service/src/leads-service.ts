import type { LeadsServiceImplementation } from '@leadwire/contracts'
import { answerEach, type Database, type Logger, perCall } from '@leadwire/service-kit'
import { checkReferences } from './leads/check-references'
import { createLeads } from './leads/create-leads'
import type { Limits } from './leads/limits'
import { listLeads } from './leads/list-leads'
import { retrieveLeads } from './leads/retrieve-leads'
import { updateLead } from './leads/update-lead'
import type { OutboxEvent } from './outbox/record-events'
import { scheduleAppointment } from './scheduling/schedule-appointment'
import { scheduleCallback } from './scheduling/schedule-callback'

export const leadsService = (deps: {
  database: Database
  assetsUrl: string
  jsonFormat: number
  limits: Limits
  logger: Logger
  draining: AbortSignal
  onCommitted: (events: OutboxEvent[]) => void
}): LeadsServiceImplementation => ({
  retrieveLeads: answerEach(retrieveLeads(deps), deps.draining),
  listLeads: answerEach(listLeads(deps), deps.draining),
  createLeads: answerEach(createLeads(deps), deps.draining),
  updateLead: perCall(deps, updateLead),
  scheduleAppointment: perCall(deps, scheduleAppointment),
  scheduleCallback: perCall(deps, scheduleCallback),
  checkReferences: perCall(deps, checkReferences),
})
