import { useState } from 'preact/hooks'
import { api, readData, type Schemas } from '../api'
import { STATUS_LABELS } from '../leads'
import { Action } from '../parts/action'
import { Badge } from '../parts/badge'
import { Boxes, Field, type FieldErrors } from '../parts/form'
import { formatCount } from '../parts/format'
import { showNotice } from '../parts/notices'

type Rule = Schemas['LeadRetention']
type CountedRule = Schemas['LeadRetentionCount']

const statuses = new Intl.ListFormat('en-GB', { type: 'disjunction' })

/** Names the leads that a rule applies to. */
const nameLeads = (rule: Rule): string =>
  [
    `Leads with the status ${statuses.format(rule.statuses.map((status) => STATUS_LABELS[status]))}`,
    `that have not changed for ${formatCount(rule.months, 'month')}`,
    'and have no open appointment or callback',
  ].join(' ')

const describeMatches = ({ matched, matched_capped: isCapped }: CountedRule): string => {
  if (matched === 0) return 'No lead matches now. Leads that match later will be erased then.'
  const leads = `${isCapped ? 'More than ' : ''}${formatCount(matched, 'lead')}`
  return `${leads} ${matched === 1 ? 'matches' : 'match'} now and will be erased, at most 100 in a minute.`
}

const renderFields = (rule: Rule | null) => (errors: FieldErrors) => (
  <>
    <Boxes
      name="statuses"
      label="Leads with these statuses"
      options={Object.entries(STATUS_LABELS)}
      checked={rule?.statuses ?? []}
      errors={errors}
    />
    <Field name="months" label="Months without a change" errors={errors} help="From 1 to 240.">
      {(attributes) => <input inputMode="numeric" defaultValue={rule?.months ?? 24} {...attributes} />}
    </Field>
    <p class="faint">The next step shows how many leads match. Nothing is erased before you confirm.</p>
  </>
)

const readRule = (fields: FormData): Rule => {
  const months = String(fields.get('months')).trim()
  return {
    statuses: fields.getAll('statuses') as Rule['statuses'],
    // Sends any other text as it is, so that the API returns the error.
    months: (/^\d+$/.test(months) ? Number(months) : months) as number,
  }
}

const setRule = async (rule: Rule, { isDryRun }: { isDryRun: boolean }): Promise<CountedRule> =>
  (await readData(api().PUT('/manage/lead-retention', { body: { ...rule, dry_run: isDryRun } }))).data

interface CountedProps {
  rule: CountedRule
  switchOn: () => Promise<void>
  discard: () => void
}

/** A rule that is not switched on yet, with the number of leads that match. */
const Counted = ({ rule, switchOn, discard }: CountedProps) => (
  <div class="part" role="status">
    <p>
      <strong>This rule is not switched on yet.</strong> {`${nameLeads(rule)} will be erased.`}
    </p>
    <p>
      <strong>{describeMatches(rule)}</strong> An erasure can't be undone.
    </p>
    <div class="actions">
      <Action label="Switch on" danger run={switchOn} />
      <button type="button" class="quiet" onClick={discard}>
        Discard
      </button>
    </div>
  </div>
)

interface LeadRetentionProps {
  rule: Rule | null
  mayManage: boolean
  refresh: () => Promise<void>
}

/** The rule by which old leads are erased. A new rule is counted first, and switched on in a second step. */
export const LeadRetention = ({ rule, mayManage, refresh }: LeadRetentionProps) => {
  const [counted, setCounted] = useState<CountedRule>()
  const count = async (fields: FormData) => setCounted(await setRule(readRule(fields), { isDryRun: true }))
  const switchOn = async () => {
    const { statuses, months } = counted!
    await setRule({ statuses, months }, { isDryRun: false })
    setCounted(undefined)
    showNotice('The rule is on.')
    await refresh()
  }
  const end = async () => {
    await api().DELETE('/manage/lead-retention')
    showNotice('The rule is off.')
    await refresh()
  }
  return (
    <section class="card padded" aria-labelledby="lead-retention">
      <h2 id="lead-retention">
        {'Erase old leads '}
        {rule ? <Badge word="On" tone="good" /> : <Badge word="Off" tone="calm" />}
      </h2>
      <p>
        {rule
          ? `${nameLeads(rule)} are erased.`
          : 'No lead is erased because of its age. A rule can erase the personal data of old leads.'}
      </p>
      {counted && <Counted rule={counted} switchOn={switchOn} discard={() => setCounted(undefined)} />}
      {mayManage && !counted && (
        <div class="actions">
          <Action
            label={rule ? 'Change the rule' : 'Make a rule'}
            quiet
            run={count}
            question={{
              title: 'Erase old leads',
              yes: 'Count the leads',
              names: ['statuses', 'months'],
              content: renderFields(rule),
            }}
          />
          {rule && (
            <Action
              label="Switch off"
              quiet
              run={end}
              question={{
                title: 'Stop erasing old leads?',
                yes: 'Switch off',
                content: <p>Erased leads stay erased.</p>,
              }}
            />
          )}
        </div>
      )}
    </section>
  )
}
