import { formatUkInstant } from '../parts/format'
import type { ManagedLead, Suspect } from './load-lead'

const ROWS: [
  label: string,
  reason: Suspect['reasons'][number] | undefined,
  read: (lead: ManagedLead) => string,
][] = [
  ['Job', undefined, ({ name }) => name],
  ['Customer', 'name_postcode', ({ customer }) => customer.name],
  ['Postcode', 'name_postcode', ({ postcode }) => postcode],
  ['E-mail', 'email', ({ customer }) => customer.email],
  ['Telephone', 'phone', ({ customer }) => [customer.phone, customer.mobile].filter(Boolean).join('\n')],
  ['Created', undefined, ({ created_at }) => formatUkInstant(created_at)],
]

interface Compared {
  lead: ManagedLead
  other: ManagedLead
  reasons: Suspect['reasons']
}

/** Two leads side by side. Marks the data that they share. */
export const CompareLeads = ({ lead, other, reasons }: Compared) => (
  <table class="compared">
    <caption class="unseen">{`This lead and ${other.name}`}</caption>
    <thead>
      <tr>
        <td />
        <th scope="col">This lead</th>
        <th scope="col">Other lead</th>
      </tr>
    </thead>
    <tbody>
      {ROWS.map(([label, reason, read]) => {
        const isShared = reason !== undefined && reasons.includes(reason)
        return (
          <tr key={label} class={isShared ? 'shared' : undefined}>
            <th scope="row">
              {label}
              {isShared && <span class="unseen"> (same)</span>}
            </th>
            <td class="wrap lines">{read(lead)}</td>
            <td class="wrap lines">{read(other)}</td>
          </tr>
        )
      })}
    </tbody>
  </table>
)
