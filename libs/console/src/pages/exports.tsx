import { exportLeads, leadFilters } from '../leads'
import { Action } from '../parts/action'
import { Filters } from '../parts/filters'
import { useLive } from '../parts/live'
import { say } from '../parts/notices'
import { Failure, Loading, Title } from '../parts/page'
import { useQuery } from '../parts/pager'
import { saveFile } from '../parts/save-file'
import { listUsers } from '../users'

const FILES: { label: string; name: string; terms: Record<string, string> }[] = [
  { label: 'Download CSV', name: 'leads.csv', terms: { format: 'csv' } },
  { label: 'Download CSV for Excel', name: 'leads.csv', terms: { format: 'csv', bom: 'true' } },
  { label: 'Download lines of JSON', name: 'leads.ndjson', terms: { format: 'ndjson' } },
]

/** /exports: all leads, or those that the filters match, as a file. */
export const Exports = () => {
  const [query] = useQuery()
  const { data: users, problem, refresh } = useLive('users', listUsers)
  if (!users) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  return (
    <>
      <Title title="Exports" />
      <p class="faint">
        Leads with customer and quotes, oldest first: all, or those that the filters match. The file can be
        imported again.
      </p>
      <Filters filters={leadFilters(users)} />
      <div class="actions">
        {FILES.map(({ label, name, terms }, index) => (
          <Action
            key={label}
            label={label}
            quiet={index > 0}
            run={async () => {
              await saveFile(name, () => exportLeads({ ...Object.fromEntries(query), ...terms }))
              say('Downloaded.')
            }}
          />
        ))}
      </div>
    </>
  )
}
