import { Link } from 'wouter-preact'
import { chooseTone, formatPounds, isErased, STATUS_LABELS } from '../leads'
import { Badge } from '../parts/badge'
import type { Column } from '../parts/table'
import { Ago } from '../parts/time'
import { describeLead, type ManagedLead, nameCustomer } from './managed-leads'
import { NextAction, Telephone } from './next-action'
import { isSelectable, type Selection } from './use-selection'

interface LeadTableProps {
  leads: ManagedLead[]
  /** The reference of the row that the keys J and K have reached, or that had the focus last. */
  marked: string | undefined
  mark: (reference: string) => void
  /** Undefined if the user may not change leads. */
  selection: Selection | undefined
}

/** The id of the link to a lead, to which the keys J and K move the focus. */
export const renderLinkId = (reference: string): string => `lead-${reference}`

const Who = ({ lead }: { lead: ManagedLead }) => (
  <span class="named">
    <Link class="whole" id={renderLinkId(lead.reference)} href={`/leads/${lead.reference}`}>
      {`${nameCustomer(lead)} `}
      {!isErased(lead) && <span class="job">{lead.name}</span>}
    </Link>
    {lead.postcode && <span class="faint">{lead.postcode}</span>}
  </span>
)

const StatusBadges = ({ lead }: { lead: ManagedLead }) => (
  <span>
    <Badge word={STATUS_LABELS[lead.status]} tone={chooseTone(lead.status)} />{' '}
    {lead.test === 1 && <Badge word="Test lead" tone="held" />}
    {isErased(lead) && <Badge word="Erased" tone="calm" />}
    {lead.duplicate_of && lead.status !== 'duplicate' && <Badge word="Duplicate" tone="calm" />}
  </span>
)

const Owner = ({ user }: Pick<ManagedLead, 'user'>) =>
  user ? <span class="cut">{user.name}</span> : <span class="none">Unassigned</span>

const CELLS: (Column<ManagedLead> & { isNumber?: boolean })[] = [
  { name: 'Telephone', cell: ({ customer }) => <Telephone customer={customer} /> },
  { name: 'Owner', cell: ({ user }) => <Owner user={user} /> },
  { name: 'Status', cell: (lead) => <StatusBadges lead={lead} /> },
  {
    name: 'Value',
    isNumber: true,
    cell: ({ value }) => <span>{formatPounds(value)}</span>,
  },
  { name: 'Next action', cell: ({ next }) => <NextAction next={next} /> },
  { name: 'Created', cell: ({ created_at }) => <Ago at={created_at} /> },
]

const Row = ({ lead, marked, mark, selection }: { lead: ManagedLead } & Omit<LeadTableProps, 'leads'>) => {
  const { reference } = lead
  return (
    <tr role="row" class={marked === reference ? 'marked' : undefined} onFocusIn={() => mark(reference)}>
      {selection && (
        <td role="cell" class="pick">
          {isSelectable(lead) && (
            <label>
              <input
                type="checkbox"
                aria-label={`Select ${describeLead(lead)}`}
                checked={selection.has(reference)}
                onChange={() => selection.toggle(lead)}
              />
            </label>
          )}
        </td>
      )}
      <th scope="row" role="rowheader">
        <Who lead={lead} />
      </th>
      {CELLS.map(({ name, isNumber, cell }) => (
        <td key={name} role="cell" data-label={name} class={isNumber ? 'number' : undefined}>
          {cell(lead)}
        </td>
      ))}
    </tr>
  )
}

/** The leads of a page. Each row is a link to its lead. A narrow page shows cards instead of rows. */
export const LeadTable = ({ leads, marked, mark, selection }: LeadTableProps) => (
  <table class="rows card queue" role="table">
    <caption class="unseen">Leads</caption>
    <thead role="rowgroup">
      <tr role="row">
        {selection && (
          <th scope="col" role="columnheader" class="pick">
            <label>
              <input
                type="checkbox"
                aria-label="Select all leads of this page"
                checked={
                  leads.some(isSelectable) &&
                  leads.filter(isSelectable).every(({ reference }) => selection.has(reference))
                }
                onChange={() => selection.toggleAll(leads)}
              />
            </label>
          </th>
        )}
        <th scope="col" role="columnheader">
          Customer and job
        </th>
        {CELLS.map(({ name, isNumber }) => (
          <th key={name} scope="col" role="columnheader" class={isNumber ? 'number' : undefined}>
            {name}
          </th>
        ))}
      </tr>
    </thead>
    <tbody role="rowgroup">
      {leads.map((lead) => (
        <Row key={lead.reference} lead={lead} marked={marked} mark={mark} selection={selection} />
      ))}
    </tbody>
  </table>
)
