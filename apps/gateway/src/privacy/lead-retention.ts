import { LEAD_STATUSES } from '@leadwire/contracts'
import { describe, enumeration, integer, optional } from '@leadwire/requests'
import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import { described, named, orNull, recordResponse } from '../api/schemas'

const rule = {
  statuses: Type.Array(enumeration(LEAD_STATUSES), {
    minItems: 1,
    maxItems: LEAD_STATUSES.length,
    ...describe('The statuses of the leads to erase.', ['lost', 'not_interested']),
  }),
  months: integer('The number of months without a change after which a lead is erased.', 24, {
    minimum: 1,
    maximum: 240,
  }),
}

const LeadRetention = described(
  'LeadRetention',
  'Leads with one of the statuses are erased when they have not changed for this number of months and have no open appointment or callback.',
  rule,
)

const RULE = {
  description: 'The rule by which old leads are erased.',
  schema: named('LeadRetentionResponse', {
    data: orNull(
      LeadRetention,
      'null if no rule is set. Leads are then kept until they are erased one by one.',
    ),
  }),
}

export const retrieveLeadRetention = operation({
  route: 'GET /manage/lead-retention',
  tag: 'Privacy',
  summary: 'Retrieve the lead retention',
  answer: RULE,
  handler: async ({ accountId, clients, limits }) => {
    const { retention = null } = await clients.accounts.retrieveLeadRetention({ accountId }, limits)
    return JSON.stringify({ data: retention })
  },
})

const LeadRetentionCount = described('LeadRetentionCount', 'A rule, and the leads that it applies to now.', {
  ...rule,
  matched: Type.Integer(describe('Number of leads that the rule applies to now.', 12)),
  matched_capped: Type.Boolean(
    describe(
      'Whether more leads may match, because only the 10,000 leads that changed longest ago were read.',
      false,
    ),
  ),
})

export const setLeadRetention = operation({
  route: 'PUT /manage/lead-retention',
  tag: 'Privacy',
  summary: 'Set the lead retention',
  description:
    'Erases leads that have one of the `statuses`, have not changed for `months` months, and have no open appointment or callback. At most 100 leads are erased in a minute, each as by `POST /manage/leads/:reference/erase`, with a receipt and the event `lead.erased`. An erasure cannot be undone. Send `"dry_run": true` first: such a request changes nothing, and returns how many leads the rule applies to.',
  body: named('LeadRetentionRequest', {
    ...rule,
    ...optional({
      dry_run: Type.Boolean(describe('Whether to only count the leads. Default false.', true)),
    }),
  }),
  answer: recordResponse(LeadRetentionCount, 'The rule, and the number of leads that it applies to now.'),
  handler: async ({ accountId, clients, limits, valid }) => {
    const { statuses: given, months, dry_run: dryRun = false } = await valid()
    const retention = { statuses: [...new Set(given)], months }
    const asked = { accountId, retention, dryRun }
    const { matched, capped } = await clients.accounts.setLeadRetention(asked, limits)
    return { ...retention, matched, matched_capped: capped }
  },
})

export const endLeadRetention = operation({
  route: 'DELETE /manage/lead-retention',
  tag: 'Privacy',
  summary: 'End the lead retention',
  description: 'Old leads are no longer erased. Erased leads stay erased.',
  answer: RULE,
  handler: async ({ accountId, clients, limits }) => {
    await clients.accounts.endLeadRetention({ accountId }, limits)
    return JSON.stringify({ data: null })
  },
})
