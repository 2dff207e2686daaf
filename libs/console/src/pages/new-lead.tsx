import { useEffect, useState } from 'preact/hooks'
import { asProblem, type Problem } from '../api'
import { NewLeadForm } from '../lead/new-lead-form'
import { Failure, Loading, type PageProps, Title } from '../parts/page'
import { listUsers, type User } from '../users'

/** /leads/new: a form that creates a lead. */
export const NewLead = ({ scopes }: PageProps) => {
  const mayListUsers = scopes.has('users:read')
  const [users, setUsers] = useState<User[]>()
  const [problem, setProblem] = useState<Problem>()
  useEffect(() => {
    if (!mayListUsers) return undefined
    const controller = new AbortController()
    listUsers(controller.signal).then(setUsers, (error) => {
      if (!controller.signal.aborted) setProblem(asProblem(error))
    })
    return () => controller.abort()
  }, [mayListUsers])
  if (problem) return <Failure problem={problem} />
  if (mayListUsers && !users) return <Loading />
  return (
    <>
      <Title title="New lead" from={['Leads', '/leads']} />
      <NewLeadForm users={users} />
    </>
  )
}
