import type { ComponentChildren } from 'preact'
import type { ManagedLead } from './load-lead'

const CAMPAIGN = ['utm_campaign', 'utm_source', 'utm_medium', 'utm_term', 'utm_content']
const PAGE = ['landing_page', 'page', 'page_url']

const joinAttributes = ({ attributes }: ManagedLead, keys: string[]): string =>
  keys.flatMap((key) => (key in attributes ? [String(attributes[key])] : [])).join(', ')

/** Where a lead came from: the referrer, the campaign and the page. */
export const LeadSource = ({ lead }: { lead: ManagedLead }) => {
  const rows: [name: string, value: ComponentChildren][] = [
    ['Referrer', lead.referrer],
    ['Campaign', joinAttributes(lead, CAMPAIGN)],
    ['Page', joinAttributes(lead, PAGE)],
    ['Came from', lead.referrer_url],
  ]
  return (
    <section class="card padded" aria-labelledby="lead-source">
      <h2 id="lead-source">Source</h2>
      <dl class="brief">
        {rows.map(
          ([name, value]) =>
            value && (
              <div key={name}>
                <dt>{name}</dt>
                <dd class="wrap">{value}</dd>
              </div>
            ),
        )}
      </dl>
    </section>
  )
}
