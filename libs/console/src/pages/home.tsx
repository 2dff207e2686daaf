import { renderProblem } from '../api'
import { LeadsByDay, SPANS } from '../home/leads-by-day'
import { loadHome, type Part } from '../home/load-home'
import { MySchedule } from '../home/my-schedule'
import { SourcesTable } from '../home/sources-table'
import { Today } from '../home/today'
import { useLive } from '../parts/live'
import { Failure, Loading, type PageProps, Title } from '../parts/page'
import { useQuery } from '../parts/pager'
import { me } from '../session'

const POLL_MS = 30_000
const DEFAULT_DAYS = 30

const readDays = (query: URLSearchParams): number => {
  const days = Number(query.get('days'))
  return SPANS.includes(days) ? days : DEFAULT_DAYS
}

/** Renders a part of the page, or the problem because of which the part is missing. */
const renderPart = <Data,>(
  part: Part<Data> | undefined,
  name: string,
  render: (data: Data) => preact.ComponentChildren,
) => {
  if (!part) return null
  if (part.problem) return <p class="error">{`${name}: ${renderProblem(part.problem)}`}</p>
  return render(part.data)
}

/** /home: the numbers of today, the leads by day and by source, and what the user has to do. */
export const Home = ({ scopes }: PageProps) => {
  const [query] = useQuery()
  const days = readDays(query)
  const { data, problem, refresh } = useLive(`home ${days}`, (signal) => loadHome(days, scopes, signal), {
    everyMs: POLL_MS,
  })
  if (!data) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  const isUser = me.value?.type === 'user'
  return (
    <>
      <Title title="Home" />
      <Today home={data} />
      {renderPart(data.mine, 'Callbacks and appointments', ({ entries, hasMore }) => (
        <MySchedule
          title={isUser ? 'My callbacks and appointments' : 'Callbacks and appointments'}
          entries={entries}
          hasMore={hasMore}
          now={data.now}
          mayChange={scopes.has('leads')}
          showsUsers={!isUser}
          refresh={refresh}
        />
      ))}
      {renderPart(data.sources, 'Leads per day', (figures) => (
        <>
          <LeadsByDay figures={figures} days={days} />
          {figures.bySource.length > 0 && <SourcesTable figures={figures} days={data.days} />}
        </>
      ))}
    </>
  )
}
