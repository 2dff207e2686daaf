import type { components, operations } from './generated/schema'

type Schemas = components['schemas']

export type Lead = Schemas['Lead']
export type LeadListItem = Schemas['LeadListItem']
export type LeadListItemPage = Required<Omit<Schemas['LeadListItemPage'], 'total_capped' | 'next_cursor'>> &
  Schemas['LeadListItemPage']
/** The filters and the sort order of a list. */
export type LeadFilters = Omit<
  NonNullable<operations['listLeads']['parameters']['query']>,
  'page' | 'per_page' | 'cursor'
>
export type Customer = Schemas['Customer']
export type Quote = Schemas['Quote']
export type QuoteItem = Schemas['QuoteItem']
export type Image = Schemas['Image']
export type Scheduled = Schemas['Scheduled']
export type CreateLeadRequest = Schemas['CreateLeadRequest']
export type CreateVisitorLeadRequest = Schemas['CreateVisitorLeadRequest']
export type UpdateLeadRequest = Schemas['UpdateLeadRequest']
export type ScheduledRecord = Schemas['ScheduledRecord']
export type ScheduleRequest = Schemas['ScheduleRequest']
export type RescheduleRequest = Schemas['RescheduleRequest']
/** The body of the Lead Created webhook. */
export type LeadCreated = Schemas['LeadCreated']
export type { components, operations, paths } from './generated/schema'
