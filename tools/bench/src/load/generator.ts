import { serveParent } from '../process/serve-parent'
import { closedLoop } from './closed-loop'
import { openLoop } from './open-loop'

serveParent(undefined, { closedLoop, openLoop })
