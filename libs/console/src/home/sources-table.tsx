import { formatPounds } from '../leads'
import { formatDuration, formatNumber, formatSuccessRate } from '../parts/format'
import { type Column, Table } from '../parts/table'
import type { Figures, Share, Sources } from './load-home'

const formatShare = (share: Share | undefined): string =>
  formatSuccessRate({ succeeded: share?.sold ?? 0, failed: (share?.created ?? 0) - (share?.sold ?? 0) })

const makeColumns = (shares: Map<string, Share>): Column<Figures>[] => [
  { name: 'Source', cell: ({ referrer }) => referrer },
  { name: 'Leads', cell: ({ created }) => formatNumber(created) },
  { name: 'Sold', cell: ({ sold }) => formatNumber(sold) },
  { name: 'Value sold', cell: ({ value_sold }) => formatPounds(value_sold) },
  { name: 'Share sold', cell: ({ referrer = '' }) => formatShare(shares.get(referrer)) },
  {
    name: 'First response',
    cell: ({ response_median_seconds: seconds }) =>
      seconds === null ? <span class="none">none yet</span> : formatDuration(seconds * 1000),
  },
]

/** The figures of each source, largest first. */
export const SourcesTable = ({ figures, days }: { figures: Sources; days: number }) => (
  <section class="part" aria-labelledby="by-source">
    <h2 id="by-source">{`Sources, last ${days} days`}</h2>
    <p class="faint">
      Sold and value sold count the sales of these days, whenever their leads were created. Share sold is the
      part of the leads of these days that is sold now. First response is the median time.
      {!figures.isCurrent && ' Some leads are still being counted.'}
    </p>
    <Table
      caption="Figures by source"
      columns={makeColumns(figures.shares)}
      rows={figures.bySource}
      getKey={({ referrer = '' }) => referrer}
    />
  </section>
)
