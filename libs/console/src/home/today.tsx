import type { ComponentChildren } from 'preact'
import { Link } from 'wouter-preact'
import { renderProblem } from '../api'
import { formatPounds } from '../leads'
import { formatClock, formatNumber, formatSuccessRate } from '../parts/format'
import type { Count, Home, Part, Sales, Share } from './load-home'

const formatLimited = ({ count, isLeast }: Count): string => `${formatNumber(count)}${isLeast ? '+' : ''}`

const formatDifference = (difference: number): string =>
  `${difference > 0 ? '+' : '−'}${formatNumber(Math.abs(difference))}`

/** Compares the new leads with those of yesterday until the same time of day. */
const compareNew = (today: Count, yesterday: Count, now: number): string => {
  if (today.isLeast || yesterday.isLeast) return 'Too many to compare with yesterday'
  const then = `yesterday by ${formatClock(now)}`
  const difference = today.count - yesterday.count
  return difference === 0 ? `As many as ${then}` : `${formatDifference(difference)} on ${then}`
}

const formatSales = (sold: number, value: number): string =>
  sold === 0 ? '0' : `${formatNumber(sold)} · ${formatPounds(value)}`

// The figures have whole days, so today so far would look worse than all of yesterday.
const describeYesterday = ({ yesterday }: Sales): string => {
  const { sold = 0, value_sold = 0 } = yesterday ?? {}
  return `All of yesterday: ${formatSales(sold, value_sold)}`
}

const countRest = ({ created, sold }: Share) => ({ succeeded: sold, failed: created - sold })

const compareShare = (share: Share, before: Share, days: number): string => {
  if (share.created === 0) return `No leads in ${days} days`
  const whole = `Of the leads of ${days} days`
  if (before.created === 0) return `${whole}; no leads before to compare with`
  const points = Math.round((share.sold / share.created - before.sold / before.created) * 100)
  if (points === 0) return `${whole}, as in the ${days} days before`
  const unit = Math.abs(points) === 1 ? 'point' : 'points'
  return `${whole}, ${formatDifference(points)} ${unit} on the ${days} days before`
}

const linkDue = (due: 'today' | 'overdue', text: string, mayReadLeads: boolean): ComponentChildren =>
  mayReadLeads ? <Link href={`/leads?due=${due}`}>{text}</Link> : text

interface TileProps<Data> {
  name: string
  part: Part<Data>
  render: (data: Data) => { value: ComponentChildren; note: ComponentChildren }
}

const Tile = <Data,>({ name, part, render }: TileProps<Data>) => {
  const { value, note } = part.problem
    ? { value: '–', note: renderProblem(part.problem) }
    : render(part.data as Data)
  return (
    <div class="tile">
      <dt>{name}</dt>
      <dd>{value}</dd>
      <dd class="note">{note}</dd>
    </div>
  )
}

/** The numbers of today. Each has a note: an earlier number to compare with, or a definition. */
export const Today = ({ home: { now, days, leads, sales, sources, due, endpoints } }: { home: Home }) => (
  <dl class="tiles today">
    {leads && (
      <>
        <Tile
          name="New today"
          part={leads}
          render={({ newToday, newYesterday }) => ({
            value: formatLimited(newToday),
            note: compareNew(newToday, newYesterday, now),
          })}
        />
        <Tile
          name="Open"
          part={leads}
          render={({ open }) => ({
            value: <Link href="/leads?status=open">{formatLimited(open)}</Link>,
            note: 'All leads with the status Open',
          })}
        />
      </>
    )}
    {sales && (
      <Tile
        name="Sold today"
        part={sales}
        render={(data) => ({
          value: formatSales(data.today?.sold ?? 0, data.today?.value_sold ?? 0),
          note: describeYesterday(data),
        })}
      />
    )}
    {sources && (
      <Tile
        name="Share sold"
        part={sources}
        render={({ share, shareBefore }) => ({
          value: formatSuccessRate(countRest(share)),
          note: compareShare(share, shareBefore, days),
        })}
      />
    )}
    {due && (
      <Tile
        name="Due today"
        part={due}
        render={({ today, overdue }) => ({
          value: linkDue('today', formatLimited(today), leads !== undefined),
          note:
            overdue.count === 0
              ? 'Nothing is overdue'
              : linkDue(
                  'overdue',
                  `${formatLimited(overdue)} overdue, including earlier days`,
                  leads !== undefined,
                ),
        })}
      />
    )}
    {endpoints && (
      <Tile
        name="Failing endpoints"
        part={endpoints}
        render={({ failing, all }) => ({
          value: <Link href="/endpoints">{`${formatNumber(failing)} of ${formatNumber(all)}`}</Link>,
          note: 'By the latest hour with attempts',
        })}
      />
    )}
  </dl>
)
