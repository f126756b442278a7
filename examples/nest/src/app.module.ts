import { Module } from '@nestjs/common';
import { HindsightModule } from 'express-hindsight';
import { ParcelsController } from './parcels.controller.js';
import { ParcelsService } from './parcels.service.js';

@Module({
  imports: [HindsightModule.forRoot()],
  controllers: [ParcelsController],
  providers: [ParcelsService],
})
export class AppModule {}
