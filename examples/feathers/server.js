import { NotFound } from '@feathersjs/errors';
import { feathers } from '@feathersjs/feathers';
import feathersExpress, { errorHandler, json, rest } from '@feathersjs/express';
import { hindsight } from 'express-hindsight';

class Messages {
  all = [{ id: 1, text: 'Hello' }];

  async find() {
    return this.all;
  }

  async get(id) {
    const message = this.all.find((one) => String(one.id) === String(id));
    if (message === undefined) throw new NotFound(`No message ${id}`);
    return message;
  }

  async create({ text }) {
    const message = { id: this.all.length + 1, text: text.trim() };
    this.all.push(message);
    return message;
  }
}

const app = feathersExpress(feathers());
const profiler = hindsight(app);
app.use(json());
app.configure(rest());
app.use('messages', new Messages());
app.hooks({
  around: {
    all: [
      (context, next) => {
        const name = `${context.path}.${context.method}`;
        profiler.fact('routeLabel', name);
        return profiler.span(name, next);
      },
    ],
  },
});
app.use(errorHandler({ logger: false }));

const server = await app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1');
server.once('listening', () => {
  console.log(`http://127.0.0.1:${server.address().port}/messages`);
});
