import { Link } from 'wouter-preact'
import { chooseTone, formatPounds, isErased, STATUS_LABELS, type Status } from '../leads'
import { Badge } from '../parts/badge'
import { Options } from '../parts/form'
import { showNotice, showProblem } from '../parts/notices'
import { useQuery } from '../parts/pager'
import type { BoardColumn } from './load-queue'
import { describeLead, type ManagedLead, nameCustomer, updateLeads } from './managed-leads'
import { NextAction, Telephone } from './next-action'

type Move = (reference: string, status: Status) => Promise<void>

interface LeadBoardProps {
  columns: BoardColumn[]
  /** Whether the user may change leads. */
  canMove: boolean
  refresh: () => Promise<void>
}

const DRAGGED = 'application/x-leadwire-reference'

/** Lets a card be dropped, but nothing else. */
const allowDrop = (event: DragEvent) => {
  if (event.dataTransfer?.types.includes(DRAGGED)) event.preventDefault()
}

const Card = ({ lead, move }: { lead: ManagedLead; move: Move | undefined }) => {
  const { reference, status, value, user, next } = lead
  const mover = isErased(lead) ? undefined : move
  return (
    <li
      class="card lead-card"
      draggable={mover !== undefined}
      onDragStart={({ dataTransfer }) => dataTransfer?.setData(DRAGGED, reference)}
    >
      <Link class="job-link" href={`/leads/${reference}`}>
        {`${nameCustomer(lead)} `}
        {!isErased(lead) && <span class="job">{lead.name}</span>}
      </Link>
      <p class="split">
        <Telephone customer={lead.customer} />
        <span>{formatPounds(value)}</span>
      </p>
      <p class="faint">{user ? user.name : 'Unassigned'}</p>
      {next && (
        <p>
          <NextAction next={next} />
        </p>
      )}
      {mover && (
        <select
          aria-label={`Status of ${describeLead(lead)}`}
          value={status}
          onChange={({ currentTarget }) => mover(reference, currentTarget.value as Status)}
        >
          <Options options={Object.entries(STATUS_LABELS)} chosen={status} />
        </select>
      )}
    </li>
  )
}

const Column = ({ column, move }: { column: BoardColumn; move: Move | undefined }) => {
  const { status, leads, hasMore } = column
  const [, changed] = useQuery()
  const heading = `column-${status}`
  const drop = (event: DragEvent) => {
    event.preventDefault()
    const reference = event.dataTransfer?.getData(DRAGGED)
    if (reference && leads.every((lead) => lead.reference !== reference)) void move?.(reference, status)
  }
  return (
    <section aria-labelledby={heading} class="column" onDragOver={allowDrop} onDrop={drop}>
      <h2 id={heading}>
        <Badge word={STATUS_LABELS[status]} tone={chooseTone(status)} />{' '}
        <span class="faint">{hasMore ? `${leads.length}+` : leads.length}</span>
      </h2>
      {leads.length === 0 ? (
        <p class="faint">{hasMore ? 'None among the newest leads' : 'None'}</p>
      ) : (
        <ul>
          {leads.map((lead) => (
            <Card key={lead.reference} lead={lead} move={move} />
          ))}
        </ul>
      )}
      {hasMore && <Link href={changed({ status, layout: '' })}>Show all in the list</Link>}
    </section>
  )
}

/**
 * The newest leads of each status as columns of cards. A card is moved to another status by dragging it, or
 * with its select.
 */
export const LeadBoard = ({ columns, canMove, refresh }: LeadBoardProps) => {
  const move: Move = async (reference, status) => {
    try {
      const [outcome] = await updateLeads([reference], { status })
      const errors = Object.values(outcome?.errors ?? {}).flat()
      showNotice(errors.join(' ') || `Moved to ${STATUS_LABELS[status]}.`)
    } catch (error) {
      showProblem(error)
    }
    // Runs after a failure too, so that the select shows the stored status again.
    await refresh()
  }
  return (
    <div class="board">
      {columns.map((column) => (
        <Column key={column.status} column={column} move={canMove ? move : undefined} />
      ))}
    </div>
  )
}
