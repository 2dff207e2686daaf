import type { components } from './generated/schema'

type Schemas = components['schemas']

export type Lead = Schemas['Lead']
export type LeadListItem = Schemas['LeadListItem']
export type LeadListItemPage = Schemas['LeadListItemPage']
export type Customer = Schemas['Customer']
export type Quote = Schemas['Quote']
export type QuoteItem = Schemas['QuoteItem']
export type Image = Schemas['Image']
export type Scheduled = Schemas['Scheduled']
export type CreateLeadRequest = Schemas['CreateLeadRequest']
export type CreateVisitorLeadRequest = Schemas['CreateVisitorLeadRequest']
export type UpdateLeadRequest = Schemas['UpdateLeadRequest']
export type ScheduleRequest = Schemas['ScheduleRequest']
/** The body of the Lead Created webhook. */
export type LeadCreated = Schemas['LeadCreated']
export type { components, operations, paths } from './generated/schema'
