/** json-server 0.17, on Express 4. */
const jsonServer = require('json-server');

const app = jsonServer.create();
const posts = Array.from({ length: 20 }, (_, id) => ({ id, title: `Post ${id}` }));
app.use(jsonServer.defaults({ logger: false }));
app.use(jsonServer.router({ posts }));
app.listen(Number(process.env.BENCH_PORT), '127.0.0.1');
